"""Events: a page gets the latest state of an object once, however often it changes."""

import asyncio

from panfocus.app.events import Events


def test_many_changes_of_an_object_are_sent_once():
    made = []

    async def run():
        events = Events()
        stream = events.stream()
        await anext(stream)
        for number in range(100):
            events.send_latest("stack", "a", lambda number=number: made.append(number) or {"n": number})
        events.send_latest("stack", "gone", lambda: None)
        text = await anext(stream)
        await stream.aclose()
        return text

    assert asyncio.run(run()) == 'data: {"kind": "stack", "stack": {"n": 99}}\n\n'
    assert made == [99]


def test_parts_of_an_object_are_sent_together_unless_the_whole_is():
    def content(parts):
        return {"kind": "frames", "parts": sorted(parts)}

    async def run():
        events = Events()
        stream = events.stream()
        await anext(stream)
        for part in (3, 1, 3):
            events.send_part("stack", "a", part, content)
        texts = [await anext(stream)]
        events.send_latest("stack", "a", lambda: {"n": 1})
        events.send_part("stack", "a", 2, content)
        texts.append(await anext(stream))
        events.send_part("stack", "gone", 2, lambda parts: None)
        events.send_part("stack", "a", 2, content)
        texts.append(await anext(stream))
        await stream.aclose()
        return texts

    assert asyncio.run(run()) == [
        'data: {"kind": "frames", "parts": [1, 3]}\n\n',
        'data: {"kind": "stack", "stack": {"n": 1}}\n\n',
        'data: {"kind": "frames", "parts": [2]}\n\n',
    ]
