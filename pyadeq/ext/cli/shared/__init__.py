"""What commands share: options, arguments, answers, and the runner."""
