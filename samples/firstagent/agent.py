"""An agent that uses Mneme, with nothing but Temporal's SDK for Python: pip install temporalio

It stores the turns of a conversation, asks what is known before it answers the next turn, and reports what helped.
"""

import asyncio
import hashlib
import os
import re
from datetime import datetime, timedelta, timezone

from temporalio.client import Client, WithStartWorkflowOperation
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy

TASK_QUEUE = os.environ.get("MNEME_TASK_QUEUE", "mneme")
TENANT = os.environ.get("MNEME_TENANT", "acme")
AGENT = "travel-desk"


def principal(user):
    """Return on whose behalf a request is made: a user or, if user is empty, the agent itself."""
    return {"tenant": TENANT, "agent": AGENT, **({"user": user} if user else {})}


def digest(turns):
    """Return the digest of the contents of turns. With it, a key that belongs to other contents is refused."""
    whole = hashlib.sha256()
    for content in (turn["content"].encode() for turn in turns):
        whole.update(len(content).to_bytes(8, "big") + content)
    return whole.hexdigest()


async def remember(client, user, key, *turns):
    """Hand in the turns of a conversation, and return when they are durable. The result of the returned handle waits
    until their facts are extracted. An agent in a conversation need not wait for it."""
    request = {"principal": principal(user), "candidates": list(turns), "idempotency_key": key}
    start = WithStartWorkflowOperation(
        "Ingest",
        request,
        id=f"ingest/{TENANT}/{AGENT}/{user}/{key}",  # turns delivered twice are stored once
        task_queue=TASK_QUEUE,
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
        id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
    )
    await client.execute_update_with_start_workflow("staged", digest(turns), start_workflow_operation=start)
    return await start.workflow_handle()


async def recall(client, user, question):
    """Return the memories that help to answer a question."""
    request = {"principal": principal(user), "query": question, "limit": 5}
    return await client.execute_workflow(
        "Recall", request, id=f"recall/{TENANT}/{AGENT}/{os.urandom(8).hex()}", task_queue=TASK_QUEUE
    )


async def helped(client, user, answer, *used):
    """Report which of the recalled memories were used for a good answer. The others were not used."""
    request = {
        "principal": principal(user),
        "retrieval_id": answer["retrieval_id"],
        "items": [{"memory_id": memory, "verdict": "succeeded"} for memory in used],
        "all_others_unused": True,
    }
    await client.execute_workflow(
        "Feedback", request, id=f"feedback/{TENANT}/{AGENT}/{answer['retrieval_id']}", task_queue=TASK_QUEUE
    )


def prompt(answer):
    """Return the text for the model's context: one line per memory, with its date and any reason to doubt it. The
    block is marked, so that it is skipped when a transcript that contains it is ingested."""
    lines = ["What you know (say that you do not know where this does not help):"]
    for memory in answer["results"]:
        line = f"- {memory['occurred_at'][:10]}"
        if memory["type"] == "episodic" and memory.get("who"):
            line += f", {memory['who']}"  # who says "I"
        line += f": {' '.join(memory['content'].split())}"
        if memory["status"] == "contested":
            line += " (contested: something else was said as well)"
        elif memory.get("currentness") == "superseded":
            line += " (out of date)"
        elif memory.get("currentness") == "mixed":
            line += " (partly out of date)"
        elif memory.get("currentness") == "older":
            line += " (something else was said later)"
        if end := memory["validity"].get("end"):
            line += f" (until {end[:10]})"
        lines.append(line)
    if not answer["results"]:
        lines.append("- nothing about this")
    text = re.sub("(?i)(mneme)-(recall)", r"\1 \2", "\n".join(lines))  # no memory can close the block
    return f'<mneme-recall id="{answer["retrieval_id"]}">\n{text}\n</mneme-recall>'


EVENING = datetime(2026, 11, 2, 18, 30, tzinfo=timezone.utc)


def turn(kind, speaker, text, minutes, refs=()):
    return {
        "content": text,
        "source_kind": kind,
        "speaker": speaker,
        "session": "maya-2026-11-02",
        "occurred_at": (EVENING + timedelta(minutes=minutes)).isoformat(),
        "refs": list(refs),
    }


async def converse(client):
    """Hold a conversation in the evening, and ask a question the next morning."""
    # Memories without a user are there for all users of the agent.
    rule = "Trips above 500 euros need an approval."
    house = await remember(
        client,
        "",
        "house-rules/1",
        {"content": rule, "source_kind": "memory", "occurred_at": EVENING.isoformat()},
    )
    # Memories of a conversation belong to its user.
    talk = await remember(
        client,
        "maya",
        "maya-2026-11-02/1",
        turn("user_input", "Maya", "I live in Lyon. I prefer window seats on trains.", 0),
        turn(
            "tool_output",
            "",
            "search_trains: Lyon to Milan, departs 07:32, 98 EUR",
            1,
            [{"kind": "tool_call", "ref": "call-17"}],
        ),
        turn("observation", "Assistant", "I booked the 07:32 train to Milan for November 9.", 2),
    )
    await asyncio.gather(house.result(), talk.result())

    answer = await recall(client, "maya", "Which seat does Maya want on the train?")
    print(f"Maya asks for a seat. The model reads:\n{prompt(answer)}\n")
    if answer["results"]:
        await helped(client, "maya", answer, answer["results"][0]["id"])

    # Tom is another user of the same agent. He does not see what Maya said, but he sees the house rule.
    answer = await recall(client, "tom", "Which seat does Maya want, and which trips need an approval?")
    print(f"Tom asks about it. The model reads:\n{prompt(answer)}")


async def main():
    client = await Client.connect(
        os.environ.get("TEMPORAL_ADDRESS", "127.0.0.1:7233"), namespace=os.environ.get("TEMPORAL_NAMESPACE", "default")
    )
    await asyncio.wait_for(converse(client), 60)
    await asyncio.sleep(0.2)  # a program that ends right after an answer may crash: temporalio/sdk-python#300


if __name__ == "__main__":
    asyncio.run(main())
