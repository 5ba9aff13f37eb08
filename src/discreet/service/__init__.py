"""The service: an HTTP API, jobs, keys and pages around the library. ``service.app.create_app`` makes it."""
