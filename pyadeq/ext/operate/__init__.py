"""Tools for operators: the doctor, periodic care, metrics and archives."""
