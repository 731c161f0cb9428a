"""What a station checks before it reads or answers: where a request comes from, what the job announced, which rows a task may choose."""
