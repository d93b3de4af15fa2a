"""The shape of `callboard.toml`. Each key is explained in docs/configuration.md; a test compares the two."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PrivateAttr, Strict, model_validator

from callboard.config.amounts import size_of
from callboard.config.checks import checked_settings, checked_size, checked_url, wrong

LONGEST = 31_536_000  # seconds: a year
Decided = Literal["allow", "ask", "deny"]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
# TOML has arrays only; the models hold tuples
ToolNames = Annotated[
    tuple[Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$")], ...],
    Strict(strict=False),
]


class Table(BaseModel):
    """A table of the file: values have exactly the types of TOML, and unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Policy(Table):
    """What happens to a call, by the mode of its tool."""

    read: Decided = "allow"
    write: Decided = "ask"


class ModelConfig(Table):
    """One named model: ``[models.NAME]``.

    Attributes:
        model: what `--model` takes: ``local``, or ``provider:name``.
        base_url: where the provider or server listens.
        api_key_env: the environment variable that holds the key; the key itself is never in the file.
        settings: sent with each request, such as ``{ temperature = 0 }``.
    """

    model: Annotated[str, Field(min_length=1)]
    base_url: Annotated[str, AfterValidator(checked_url)] | None = None
    api_key_env: str | None = None
    settings: Annotated[Mapping[str, Any], AfterValidator(checked_settings)] = Field(
        default_factory=dict[str, Any]
    )


class Models(Table):
    """The default model, and the named ones: tables of any name beside it."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[Name, ModelConfig] = Field(init=False)  # pyright: ignore[reportIncompatibleVariableOverride] - pydantic's way to type them

    default: str | None = None

    @model_validator(mode="after")
    def _no_chains(self) -> Self:
        for name, model in self.named.items():
            if model.model in self.named and model.model != "local":
                legal = "must be local, or provider:name"
                raise wrong(
                    name, "model", said=f"{legal}; a named model can't point at another, {model.model!r}"
                )
        return self

    @property
    def named(self) -> Mapping[str, ModelConfig]:
        """The named models."""
        return self.__pydantic_extra__


class State(Table):
    """Where runs, events and records are kept."""

    folder: Annotated[str, Field(min_length=1)] = ".callboard"


class StoreTable(Table):
    """What is kept of what was recorded; None is no limit.

    Attributes:
        keep_days: days for which runs are kept.
        keep_runs: so many runs are kept, the newest ones.
        max_size: the size that the store is kept below, such as ``"500MB"``.
    """

    keep_days: Annotated[float, Field(ge=0, le=36_500)] | None = None
    keep_runs: Annotated[int, Field(ge=0)] | None = None
    max_size: Annotated[str, AfterValidator(checked_size)] | None = None

    @property
    def max_bytes(self) -> int | None:
        """`max_size` in bytes."""
        return None if self.max_size is None else size_of(self.max_size)


class Limits(Table):
    """Limits of every call; those of a run stand in its profile.

    Attributes:
        call_seconds: the time of one call; it stands still while a person is asked. None is no limit.
    """

    call_seconds: Annotated[float, Field(gt=0, le=LONGEST)] | None = None


class Telemetry(Table):
    """What is told to OpenTelemetry.

    Attributes:
        spans: runs, model turns and calls are spans of the process's own tracer provider.
        content: the spans of calls carry their arguments and results.
    """

    spans: bool = False
    content: bool = False


class Config(Table):
    """All of `callboard.toml`, with the files of `profiles/` read in.

    Attributes:
        tools: what to register: ``module:attribute`` of a tool or a registry.
        profiles: what a run may use, by name; each is parsed by the room that runs it.
    """

    tools: ToolNames = ()
    policy: Policy = Policy()
    models: Models = Models()
    profiles: Mapping[Name, Mapping[str, Any]] = Field(default_factory=dict[str, Mapping[str, Any]])
    state: State = State()
    store: StoreTable = StoreTable()
    limits: Limits = Limits()
    telemetry: Telemetry = Telemetry()

    _path: Path | None = PrivateAttr(default=None)
    _folder: Path | None = PrivateAttr(default=None)

    @property
    def path(self) -> Path | None:
        """The file it was read from; None where there is none."""
        return self._path

    @property
    def folder(self) -> Path:
        """The folder that relative paths start from, and that modules of tools are looked up in first."""
        return self._folder or Path.cwd()

    @property
    def state_folder(self) -> Path:
        """Where runs, events and records are kept, as an absolute path; ``~`` is the home folder.

        Raises:
            RuntimeError: there is no such home folder.
        """
        return (self.folder / Path(self.state.folder).expanduser()).absolute()

    def located(self, folder: Path, path: Path | None) -> "Config":
        """The same configuration, read from `path` in `folder`."""
        made = self.model_copy()
        made._folder, made._path = folder.absolute(), path  # noqa: SLF001 - a copy of this very class
        return made
