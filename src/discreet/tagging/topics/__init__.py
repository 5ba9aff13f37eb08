"""Topics of tags: latent Dirichlet allocation, and topics that are released."""
