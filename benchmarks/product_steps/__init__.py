"""Parts of products.py: the task, the model server, and one driver for each product."""
