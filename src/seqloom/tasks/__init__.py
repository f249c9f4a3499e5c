"""What ties a file to a number: read examples, build the model, measure it."""
