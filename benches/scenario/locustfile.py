"""The steps of steps.toml for Locust: a log-in, then pages, each with the token of the one before."""

import re

from locust import FastHttpUser, constant, task

TOKEN = re.compile(r'name="?token"?[^>]*value="([^"]*)"')


class Steps(FastHttpUser):
    """A user who asks for page after page without thinking."""

    wait_time = constant(0)

    def on_start(self):
        self.token = self.taken(self.client.post("/login", data={"user": "locust"}, name="log in"))

    @task
    def page(self):
        self.token = self.taken(self.client.get(f"/page?token={self.token}", name="page"))

    @staticmethod
    def taken(answer):
        found = TOKEN.search(answer.text or "")
        return found.group(1) if found else ""
