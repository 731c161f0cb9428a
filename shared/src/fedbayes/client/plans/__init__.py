"""What a task would ask and cost, before anybody is asked: debits, noise, rehearsals on made-up records."""
