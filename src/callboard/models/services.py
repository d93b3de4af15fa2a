"""The services whose models can be asked, as one table: key, package, address and dialect of each."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from callboard.models.model import Dialect


@dataclass(frozen=True, slots=True)
class Service:
    """One service.

    Attributes:
        name: what stands before the colon in a model's name.
        keys: environment variables with its key; the first that is set counts.
        needs_key: False where there may be none: a server of one's own, or credentials of a cloud.
        finds_credentials: whether its library looks for them itself, as those of the clouds do.
        extra: the extra of Callboard that brings its library.
        modules: what that library is imported as.
        kind: pydantic-ai's name for it, where that is another.
        dialect: how tools are described to it.
        instructs_anywhere: whether instructions may stand in the middle of a conversation.
        ends_silently: whether a whole answer may come without the provider's own word about why it ended.
        key_as: the parameter of pydantic-ai's provider for the key.
        address_as: the same for another address; "client" where only its client has one, None for none.
        address: the environment variable with another address.
        default_address: where it listens if nobody says; None: its library knows, or it must be said.
        needs_address: whether an address must be said.
        options: what else it is told: parameter, environment variables with it, whether one must be set.
        settings: sent with each request.
        model: the model that is chosen where only its key is there; None: none is.
    """

    name: str
    keys: tuple[str, ...] = ()
    needs_key: bool = True
    finds_credentials: bool = False
    extra: str = "openai"
    modules: tuple[str, ...] = ("openai",)
    kind: str = ""
    dialect: Dialect = "openai"
    instructs_anywhere: bool = True
    ends_silently: bool = False
    key_as: str = "api_key"
    address_as: str | None = "client"
    address: str | None = None
    default_address: str | None = None
    needs_address: bool = False
    options: tuple[tuple[str, tuple[str, ...], bool], ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    model: str | None = None

    @property
    def inferred_as(self) -> str:
        """Pydantic-ai's name for it."""
        return self.kind or self.name


_NOT_KEPT = MappingProxyType({"openai_store": False})  # the Responses API keeps conversations by default
_REGION = ("region_name", ("AWS_DEFAULT_REGION", "AWS_REGION"), False)
_AZURE: Mapping[str, Any] = {
    "keys": ("AZURE_OPENAI_API_KEY",),
    "address_as": "azure_endpoint",
    "address": "AZURE_OPENAI_ENDPOINT",
    "needs_address": True,
}
_GOOGLE: Mapping[str, Any] = {
    "extra": "google",
    "modules": ("google.genai",),
    "dialect": "gemini",
    "instructs_anywhere": False,
    "address_as": "base_url",
}
_OPENAI: Mapping[str, Any] = {
    "keys": ("OPENAI_API_KEY",),
    "address_as": "base_url",
    "address": "OPENAI_BASE_URL",
}


def _own(extra: str, module: str, address_as: str | None = "base_url") -> Mapping[str, Any]:
    """A service with a library of its own, which takes instructions at the start only."""
    return {
        "extra": extra,
        "modules": (module,),
        "instructs_anywhere": False,
        "address_as": address_as,
    }


# In this order, the first whose key is there is chosen where no model is configured: by the first of its
# variables only, since others, such as GOOGLE_API_KEY, may be there for something else.
_ALL = (
    Service(
        "anthropic",
        ("ANTHROPIC_API_KEY",),
        **_own("anthropic", "anthropic"),
        dialect="anthropic",
        address="ANTHROPIC_BASE_URL",
        model="claude-sonnet-5-5",
    ),
    Service("openai", **_OPENAI, settings=_NOT_KEPT, model="gpt-5.6-terra"),
    Service("openai-chat", **_OPENAI),
    Service("google", ("GEMINI_API_KEY", "GOOGLE_API_KEY"), **_GOOGLE, model="gemini-3.8-flash"),
    Service(
        "google-cloud",
        **_GOOGLE,
        needs_key=False,
        finds_credentials=True,
        options=(
            ("project", ("GOOGLE_CLOUD_PROJECT",), False),
            ("location", ("GOOGLE_CLOUD_LOCATION",), False),
        ),
    ),
    Service("mistral", ("MISTRAL_API_KEY",), **_own("mistral", "mistralai"), model="mistral-large-latest"),
    Service("xai", ("XAI_API_KEY",), **_own("xai", "xai_sdk", None), ends_silently=True, model="grok-4.7"),
    Service("deepseek", ("DEEPSEEK_API_KEY",), model="deepseek-v4-pro"),
    Service(
        "cohere",
        ("CO_API_KEY",),
        **_own("cohere", "cohere", None),
        model="command-a-plus-05-2026",
    ),
    Service(
        "groq",
        ("GROQ_API_KEY",),
        **_own("groq", "groq"),
        address="GROQ_BASE_URL",
        model="openai/gpt-oss-120b",
    ),
    Service("cerebras", ("CEREBRAS_API_KEY",)),
    Service("moonshotai", ("MOONSHOTAI_API_KEY",), address_as="base_url", address="MOONSHOTAI_BASE_URL"),
    Service("alibaba", ("ALIBABA_API_KEY", "DASHSCOPE_API_KEY"), address_as="base_url"),
    Service("zai", ("ZAI_API_KEY",), address_as="base_url"),
    Service("meta", ("META_API_KEY",), settings=_NOT_KEPT),
    Service("openrouter", ("OPENROUTER_API_KEY",)),
    Service("together", ("TOGETHER_API_KEY",)),
    Service("fireworks", ("FIREWORKS_API_KEY",)),
    Service("crusoe", ("CRUSOE_API_KEY",)),
    Service("nebius", ("NEBIUS_API_KEY",)),
    Service("ovhcloud", ("OVHCLOUD_API_KEY",)),
    Service("sambanova", ("SAMBANOVA_API_KEY",), address_as="base_url", address="SAMBANOVA_BASE_URL"),
    Service("vercel", ("VERCEL_AI_GATEWAY_API_KEY", "VERCEL_OIDC_TOKEN")),
    Service("heroku", ("HEROKU_INFERENCE_KEY",), address_as="base_url", address="HEROKU_INFERENCE_URL"),
    Service(
        "github-copilot",
        ("GITHUB_COPILOT_API_KEY", "GITHUB_COPILOT_API_TOKEN", "COPILOT_GITHUB_TOKEN"),
        address_as="base_url",
        address="GITHUB_COPILOT_BASE_URL",
    ),
    Service(
        "snowflake",
        ("SNOWFLAKE_TOKEN",),
        ends_silently=True,
        key_as="token",
        address_as="base_url",
        options=(("account", ("SNOWFLAKE_ACCOUNT",), True),),
    ),
    Service("azure", **_AZURE),
    Service("azure-responses", **_AZURE, settings=_NOT_KEPT),
    Service(
        "bedrock",
        ("AWS_BEARER_TOKEN_BEDROCK",),
        **_own("bedrock", "boto3"),
        needs_key=False,
        finds_credentials=True,
        options=(_REGION,),
    ),
    Service(
        "bedrock-mantle",
        ("AWS_BEARER_TOKEN_BEDROCK",),
        needs_key=False,
        finds_credentials=True,
        extra="openai,bedrock",
        modules=("openai", "botocore"),
        address_as="base_url",
        options=(_REGION,),
    ),
    Service("huggingface", ("HF_TOKEN",), **_own("huggingface", "huggingface_hub")),
    Service(
        "litellm",
        ("LITELLM_PROXY_API_KEY",),
        needs_key=False,
        address_as="api_base",
        address="LITELLM_PROXY_API_BASE",
        needs_address=True,
    ),
    Service(
        "vllm",
        ("VLLM_API_KEY",),
        needs_key=False,
        address_as="base_url",
        address="VLLM_BASE_URL",
        needs_address=True,
    ),
    Service(
        "ollama",
        needs_key=False,
        address_as="base_url",
        address="OLLAMA_BASE_URL",
        default_address="http://127.0.0.1:11434/v1",
    ),
    Service(
        "openai-compatible", needs_key=False, kind="openai-chat", address_as="base_url", needs_address=True
    ),
)

SERVICES: Mapping[str, Service] = MappingProxyType({service.name: service for service in _ALL})

# What people may call a service, where no name of one is close to it.
ALSO_CALLED: Mapping[str, str] = MappingProxyType(
    {
        "aws": "bedrock",
        "claude": "anthropic",
        "copilot": "github-copilot",
        "dashscope": "alibaba",
        "gemini": "google",
        "gpt": "openai",
        "grok": "xai",
        "hf": "huggingface",
        "kimi": "moonshotai",
        "moonshot": "moonshotai",
        "qwen": "alibaba",
        "vertex": "google-cloud",
        "vertexai": "google-cloud",
    }
)
