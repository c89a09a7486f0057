"""A guardrail of the LiteLLM proxy: each chat is decided by a decider of casewise before its model is called.

    casewise serve decider.json --port 8108 --keys keys.txt --capture traffic.jsonl
    CASEWISE_URL=http://127.0.0.1:8108 CASEWISE_KEY=… LITELLM_MASTER_KEY=… CHAT_URL=… CHAT_KEY=… litellm --config config.yaml

The file and `config.yaml` lie in one folder. The proxy's id of the call is the id of the decision in the decider's log. A decider
that cannot be reached refuses (CASEWISE_UNREACHABLE=answer lets through). Tried with LiteLLM 1.106.12; do not use 1.82.7 and
1.82.8, which were published with malicious code.
"""

from __future__ import annotations

import os
from typing import Any

import httpx
from fastapi import HTTPException
from litellm.integrations.custom_guardrail import CustomGuardrail

TIMEOUT_S = 15.0
"""Longer than the decider waits for its judge."""


class CasewiseGuardrail(CustomGuardrail):  # type: ignore[misc]  # LiteLLM is no dependency of casewise, and has no types here
    """Asks a decider about each request; `refuse`, and `ask` as nobody is asked here, end it with status 400."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        key = os.environ.get("CASEWISE_KEY")
        self.http = httpx.AsyncClient(
            base_url=os.environ.get("CASEWISE_URL", "http://127.0.0.1:8108"),
            headers={"authorization": f"Bearer {key}"} if key else {},
            timeout=TIMEOUT_S,
        )

    async def async_pre_call_hook(  # the signature is LiteLLM's
        self,
        user_api_key_dict: Any,
        cache: Any,  # noqa: ARG002
        data: dict[str, Any],
        call_type: str,
    ) -> dict[str, Any]:
        """Return the request as it came, or raise HTTPException: 400 with the decision and its id."""
        if call_type not in ("completion", "acompletion"):
            return data
        said = await self.decided(data, getattr(user_api_key_dict, "metadata", None) or {})
        if said["decision"] != "answer":
            raise HTTPException(
                400, {"error": "refused in this context", "decision": said["decision"], "id": said["id"]}
            )
        return data

    async def decided(self, data: dict[str, Any], of_key: dict[str, Any]) -> dict[str, Any]:
        """Return the decider's answer. The context is `context` in the metadata of the caller's key, which the proxy's owner set:
        one in the body of a request could say anything."""
        messages = [
            {"role": turn["role"], "content": turn["content"]} for turn in data["messages"] if turn.get("content")
        ]
        own = data.get("litellm_call_id")
        asked: dict[str, Any] = {"messages": messages, "context": of_key.get("context")}
        try:
            answer = await self.http.post("/v1/decide", json={**asked, "id": own} if own else asked)
            answer.raise_for_status()
        except httpx.HTTPError as error:
            fallback = os.environ.get("CASEWISE_UNREACHABLE", "refuse")
            return {"decision": fallback, "id": own, "why": f"no decision: {type(error).__name__}"}
        found: dict[str, Any] = answer.json()
        return found
