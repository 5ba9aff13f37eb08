"""What builds the documentation: generated pages, drawings, pictures, and the runner of the code on the pages."""
