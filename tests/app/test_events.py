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
            events.send_latest("frame", "a 1", lambda number=number: {"frame": number})
        events.send_latest("stack", "gone", lambda: None)
        text = await anext(stream)
        await stream.aclose()
        return text

    assert asyncio.run(run()) == 'data: {"n": 99}\n\ndata: {"frame": 99}\n\n'
    assert made == [99]
