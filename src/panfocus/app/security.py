"""Access control: only our own page, opened at the address with the token, may use the server.

Every page in the browser and every user of the computer can reach a server on the loopback interface. The
token keeps other users out; the SameSite cookie and the check of the origin keep other pages out; the check
of the host prevents DNS rebinding.
"""

import secrets
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOSTS = ("127.0.0.1", "localhost", "[::1]")
_SAFE = ("GET", "HEAD")
_REDIRECT = '<!doctype html><meta http-equiv="refresh" content="0; url=/"><title>panfocus</title>'

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; img-src 'self' blob: data:; style-src 'self'; script-src 'self'; "
        "frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Guard:
    """Middleware that admits requests of our own page, and adds protective headers to every answer."""

    def __init__(self, app: ASGIApp, *, token: str, port: int) -> None:
        self._app = app
        self._token = token
        self._hosts = {f"{host}:{port}" for host in HOSTS}
        if port == 80:
            self._hosts |= set(HOSTS)
        self._cookie = f"panfocus-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            raise RuntimeError(f"The protocol {scope['type']} is not supported.")

        async def send_protected(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        answer = self._direct_answer(scope)
        await (answer or self._app)(scope, receive, send_protected)

    def _direct_answer(self, scope: Scope) -> Response | None:
        """Return the answer to a request that is refused or redirected; None for one that is admitted."""
        headers, method = Headers(scope=scope), scope["method"]
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return _text_answer(421, "This server answers only to 127.0.0.1 and localhost.")
        # "same-site" is a page at another port of this computer.
        from_elsewhere = headers.get("sec-fetch-site") in ("cross-site", "same-site")
        if method == "GET" and scope["path"] == "/" and self._is_token(_query_token(scope)):
            return self._welcome(from_elsewhere=from_elsewhere)
        if from_elsewhere:
            return _text_answer(403, "Requests from other pages are refused.")
        by_script = self._is_token(_bearer(headers))  # browsers never add this header
        if not (by_script or self._is_token(self._cookie_of(headers))):
            return _text_answer(403, "Open the address with the token that panfocus app printed.")
        origin = headers.get("origin", "")
        is_ours = origin.lower() == f"http://{hosts[0].lower()}"
        if not (method in _SAFE or is_ours or (by_script and not origin)):
            return _text_answer(403, "Requests that change something must come from this server's page.")
        return None

    def _welcome(self, *, from_elsewhere: bool) -> Response:
        """Set the cookie, and redirect to the address without the token."""
        # A strict cookie is not sent along an HTTP redirect from elsewhere, such as the file that the browser
        # was started with; it is sent by our own page.
        answer = HTMLResponse(_REDIRECT) if from_elsewhere else RedirectResponse("/", 303)
        # The token itself, not a session: open pages keep their access after a restart.
        answer.set_cookie(self._cookie, self._token, path="/", httponly=True, samesite="strict")
        return answer

    def _is_token(self, text: str) -> bool:
        return secrets.compare_digest(text.encode(), self._token.encode())

    def _cookie_of(self, headers: Headers) -> str:
        # Parsed here: parsers stop at an invalid cookie, and other programs on 127.0.0.1 set cookies, too.
        cookies = ";".join(headers.getlist("cookie")).split(";")
        named = (cookie.strip().partition("=") for cookie in cookies)
        return next((value for name, _, value in named if name == self._cookie), "")


def _bearer(headers: Headers) -> str:
    kind, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def _query_token(scope: Scope) -> str:
    query: str = scope["query_string"].decode("latin-1")
    return parse_qs(query).get("token", [""])[0]


def _text_answer(status: int, text: str) -> Response:
    return PlainTextResponse(f"{text}\n", status)
