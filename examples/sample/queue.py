"""A queue of jobs. It is here so that the examples have something to read."""


class Queue:
    def __init__(self):
        # TODO(api): limit the number of jobs
        self.jobs = []

    def push(self, job):
        # TODO: refuse a job that is there already
        self.jobs.append(job)

    def pop(self):
        return self.jobs.pop(0)
