"""Drives a server with Ollama's official Python client and prints what it saw as JSON: python client.py URL"""

import json
import sys

import ollama

MODEL = "llama3.2:3b"
HELLO = [{"role": "user", "content": "Hello"}]
client = ollama.Client(host=sys.argv[1])
seen = {}

seen["models"] = [m.model for m in client.list().models]
show = client.show(MODEL)
seen["parameter_size"] = show.details.parameter_size
seen["capabilities"] = show.capabilities
seen["whole"] = client.chat(MODEL, messages=HELLO).message.content
parts = list(client.chat(MODEL, messages=HELLO, stream=True))
seen["streamed"] = "".join(p.message.content or "" for p in parts)
seen["done_reason"] = parts[-1].done_reason
tool = {"type": "function", "function": {"name": "f", "description": "", "parameters": {"type": "object", "properties": {}}}}
seen["arguments"] = client.chat(MODEL, messages=HELLO, tools=[tool]).message.tool_calls[0].function.arguments
try:
    client.chat("nope", messages=HELLO)
except ollama.ResponseError as error:
    seen["error"] = {"status": error.status_code, "text": error.error}
# leave in the middle of an answer
stream = client.chat(MODEL, messages=HELLO, stream=True)
seen["left_after"] = sum(1 for _, part in zip(range(3), stream))
stream.close()
print(json.dumps(seen))
