"""How a message is written: typed classes, their one strict JSON form, arrays as bytes."""
