"""Write certificates: dual points in exact arithmetic that prove a result optimal."""
