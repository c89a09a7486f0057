"""Serve a model on a Ray cluster, several replicas behind one OpenAI-compatible address.

    make install PACKAGE='ray[serve]'      # in the clone of casewise, on every machine of the cluster
    python deploy/ray_serve.py --model hf:PATH_OR_ID --replicas 2 --port 8000 [--address HEAD:6379] [--gpus 1]
    casewise judge BENCHMARK --judge vllm/MODEL --base-url http://127.0.0.1:8000/v1

Ray starts a replica again that died, and a call that it had is asked again by casewise. Stop it with Ctrl-C.
"""

from __future__ import annotations

import argparse
import math
import signal
from typing import Any

import ray
from ray import serve
from starlette.requests import Request
from starlette.responses import JSONResponse

from casewise.errors import ModelError
from casewise.models.load import load_model
from casewise.models.protocol import Message, Position, ReplyOptions


@serve.deployment(max_ongoing_requests=64)
class Replica:
    """One copy of the model."""

    def __init__(self, name: str) -> None:
        self.model = load_model(name).model

    async def __call__(self, request: Request) -> JSONResponse:
        if not request.url.path.endswith("/chat/completions"):
            return JSONResponse({"data": [{"id": self.model.name}]})
        body = await request.json()
        messages = tuple(Message(one["role"], one["content"]) for one in body["messages"])
        options = ReplyOptions(
            max_tokens=body.get("max_tokens") or body.get("max_completion_tokens") or 1024,
            temperature=body.get("temperature", 0.0),
            top_logprobs=body.get("top_logprobs") or 0,
            seed=body.get("seed"),
        )
        try:
            reply = await self.model.reply(messages, options)
        except ModelError as error:
            return JSONResponse({"error": {"message": str(error)}}, status_code=400)
        choice: dict[str, Any] = {
            "message": {"role": "assistant", "content": reply.text},
            "finish_reason": reply.finish_reason or "stop",
            "logprobs": {"content": [logprobs_of(one) for one in reply.token_logprobs or ()]},
        }
        usage = {"prompt_tokens": reply.usage.input_tokens, "completion_tokens": reply.usage.output_tokens}
        return JSONResponse({"model": self.model.name, "choices": [choice], "usage": usage})


def logprobs_of(position: Position) -> dict[str, Any]:
    top = [{"token": one.token, "logprob": one.logprob} for one in position.top if math.isfinite(one.logprob)]
    return {"token": position.token, "logprob": position.logprob, "top_logprobs": top}


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve a model on a Ray cluster.")
    parser.add_argument("--model", required=True, help="as casewise names it, such as hf:PATH_OR_ID")
    parser.add_argument("--replicas", type=int, default=1)
    parser.add_argument("--gpus", type=float, default=0, help="GPUs of each replica")
    parser.add_argument("--address", help="the cluster's head; default: a cluster of this machine alone")
    parser.add_argument("--port", type=int, default=8000)
    given = parser.parse_args()
    ray.init(address=given.address)
    serve.start(http_options={"host": "127.0.0.1", "port": given.port})
    replicas = Replica.options(num_replicas=given.replicas, ray_actor_options={"num_cpus": 1, "num_gpus": given.gpus})
    serve.run(replicas.bind(given.model))
    print(f"serving at http://127.0.0.1:{given.port}/v1", flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
