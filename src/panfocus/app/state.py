"""State of the page: stacks, frames and jobs, as they are stored in the work folder and sent to browsers."""

from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal, Self, TypedDict, cast

from panfocus.app.tasks import FusionSummary, LearnSummary
from panfocus.io.checkpoint import FileStamp

FrameState = Literal["waiting", "looking", "ready", "bad"]
JobKind = Literal["fuse", "learn"]
JobState = Literal["queued", "running", "done", "failed", "cancelled"]

# Files in the folder of a job.
ARRAYS = "arrays"  # folder of the layers
SAVED_RESULT = "kept.json"
REPORT = "report.json"
LIVE = "live.png"
ATOMS = "atoms.png"
EXPORTS = "exports"  # folder


@dataclass(kw_only=True)
class _JsonRecord:
    """A dataclass of plain values that JSON stores; unknown keys are ignored, missing ones have defaults."""

    # Fields whose key in JSON differs from their name.
    _keys: ClassVar[dict[str, str]] = {}

    def to_json(self) -> dict[str, Any]:
        """Return all fields as JSON stores them."""
        return {self._keys.get(each.name, each.name): getattr(self, each.name) for each in fields(self)}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Self:
        """Return the record that `to_json` described; raise KeyError or TypeError for other content."""
        keys = {each.name: cls._keys.get(each.name, each.name) for each in fields(cls)}
        return cls(**{name: content[key] for name, key in keys.items() if key in content})


@dataclass(kw_only=True)
class PageFrame(_JsonRecord):
    """A file of a stack. Its `key` is unique in the stack and changes whenever the file does."""

    key: int
    name: str
    path: str | None  # None for an uploaded file
    bytes: int
    excluded: bool = False
    state: FrameState = "waiting"
    width: int | None = None
    height: int | None = None
    pages: int | None = None
    dtype: str | None = None
    channels: int | None = None
    error: str | None = None
    sharpness: float | None = None
    digest: str | None = None
    stamp: FileStamp = None

    def unscanned(self, key: int) -> "PageFrame":
        """Return the frame under a new key, as before its file was scanned."""
        return PageFrame(key=key, name=self.name, path=self.path, bytes=self.bytes, excluded=self.excluded)

    def view(self) -> dict[str, Any]:
        """Return what pages see of the frame; its score depends on the other frames."""
        content = self.to_json()
        for private in ("path", "digest", "stamp"):
            del content[private]
        return content


@dataclass(kw_only=True)
class PageStack(_JsonRecord):
    """A stack of frames; the files of an uploaded stack are in its folder, others stay in place."""

    id: str
    created: float  # seconds since 1970
    name: str
    folder: str | None = None  # that was opened in place
    frames: list[PageFrame] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)  # lines on files of the folder that were not opened
    warnings: list[str] = field(default_factory=list)
    unsent: list[str] = field(default_factory=list)  # names of announced files that have not arrived
    in_natural_order: bool = True  # until the user orders them
    next_key: int = 0
    n_fusions: int = 0  # ever started; numbers the results

    _keys: ClassVar[dict[str, str]] = {"skipped": "left_out"}

    def to_json(self) -> dict[str, Any]:
        """Return all fields as JSON stores them."""
        return super().to_json() | {"frames": [frame.to_json() for frame in self.frames]}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Self:
        """Return the stack that `to_json` described; raise KeyError or TypeError for other content."""
        frames = [PageFrame.from_json(frame) for frame in content["frames"]]
        return super().from_json(content | {"frames": frames})

    @property
    def is_in_place(self) -> bool:
        """Whether its files stay where they are: those of a folder, or files that were chosen."""
        return self.folder is not None or any(frame.path for frame in self.frames)

    @property
    def used_frames(self) -> list[PageFrame]:
        """The frames in their order, without excluded and unreadable ones."""
        return [frame for frame in self.frames if not frame.excluded and frame.state != "bad"]

    def add_frame(self, name: str, size: int, path: str | None) -> PageFrame:
        """Append a frame that is not scanned yet."""
        frame = PageFrame(key=self.next_key, name=name, path=path, bytes=size)
        self.frames.append(frame)
        self.next_key += 1
        return frame

    def view(self, *, receiving: int) -> dict[str, Any]:
        """Return what pages see of the stack; `receiving` counts the uploads that are running."""
        best = max((frame.sharpness or 0.0 for frame in self.frames), default=0.0)
        frames = [
            frame.view() | {"score": frame.sharpness / best if best and frame.sharpness is not None else None}
            for frame in self.frames
        ]
        return {
            "id": self.id,
            "name": self.name,
            "folder": self.folder,
            "created": self.created,
            "warnings": [*self.skipped, *self.warnings],
            "unsent": list(self.unsent),
            "frames": frames,
            "in_place": self.is_in_place,
            "receiving": receiving,
        }


class RetouchState(TypedDict):
    """Which version of a job's strokes is valid, and how many strokes it has."""

    version: int
    n_strokes: int


class LearningState(TypedDict):
    """The objective of each round so far, and the version of the picture of the atoms."""

    objective: list[float]
    atoms_version: int


@dataclass(kw_only=True)
class PageJob(_JsonRecord):
    """A fusion or the learning of a dictionary: its task, state and result."""

    id: str
    created: float  # seconds since 1970
    stack: str
    kind: JobKind
    name: str
    options: dict[str, Any]  # as the page sent them
    command: str  # that does the same on the command line
    task: dict[str, Any]  # for the worker
    state: JobState = "queued"
    stage: str = ""
    done: float = 0.0  # part of the stage, 0 to 1
    error: str | None = None
    started: float | None = None
    ended: float | None = None
    live: int = 0  # version of the live picture
    summary: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    result: FusionSummary | LearnSummary | None = None
    retouch: RetouchState | None = None
    learning: LearningState | None = None

    _keys: ClassVar[dict[str, str]] = {"summary": "said"}

    @property
    def is_open(self) -> bool:
        """Whether it waits or runs."""
        return self.state in ("queued", "running")

    @property
    def fusion(self) -> FusionSummary | None:
        """The result of a finished fusion."""
        return cast(FusionSummary | None, self.result) if self.kind == "fuse" else None

    @property
    def is_fused(self) -> bool:
        """Whether it is a fusion that is done."""
        return self.kind == "fuse" and self.state == "done"

    @property
    def retouch_version(self) -> int:
        """Which version of its strokes is valid; 0 before the first."""
        return self.retouch["version"] if self.retouch else 0

    def reset(self) -> None:
        """Return to the state of a job that waits for its first run."""
        self.state, self.stage, self.done, self.error = "queued", "", 0.0, None
        self.started = self.ended = self.result = self.retouch = None
        self.live, self.summary, self.warnings = 0, [], []
        self.learning = new_learning() if self.kind == "learn" else None

    def view(self) -> dict[str, Any]:
        """Return what pages see of the job."""
        content = self.to_json()
        del content["task"]
        return content


def new_learning() -> LearningState:
    """Return the state of learning before its first round."""
    return {"objective": [], "atoms_version": 0}
