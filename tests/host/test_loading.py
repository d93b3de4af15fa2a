"""The tools that a configuration names."""

import sys
from pathlib import Path

import pytest

from callboard import Host
from callboard.errors import ConfigError, RegistrationError

MODULE = '''
from callboard import ToolRegistry, tool

@tool(mode="read")
def one() -> int:
    """One."""
    return 1

@tool(mode="read")
def two() -> int:
    """Two."""
    return 2

registry = ToolRegistry().register_all([one, two])
number = 3
'''


@pytest.mark.parametrize(
    ("names", "found"),
    [('"things_a:registry"', {"one", "two"}), ('"things_a:two"', {"two"})],
)
async def test_tools_of_the_configuration(tmp_path: Path, names: str, found: set[str]) -> None:
    (tmp_path / "things_a.py").write_text(MODULE)
    (tmp_path / "callboard.toml").write_text(f"tools = [{names}]\n")

    async with Host(tmp_path) as host:
        assert found <= set(host.registry.ids())
        assert host.registry.invoke("two").value == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_module_x:y", "no module 'no_such_module_x'"),
        ("things_b:nothing", "has no 'nothing'"),
        ("things_b:registri", "'things_b' has no 'registri'; did you mean 'registry'?"),
        ("thing_b:registry", "there is no module 'thing_b'; did you mean 'things_b'?"),
        ("things_b:number", "holds no tools"),
        ("things_broken:x", "importing 'things_broken' failed"),
    ],
)
async def test_what_the_configuration_names_wrongly_is_named(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "things_b.py").write_text(MODULE)
    (tmp_path / "things_broken.py").write_text("1 / 0")
    (tmp_path / "callboard.toml").write_text(f'tools = ["{name}"]\n')

    with pytest.raises(ConfigError, match=message) as refused:
        async with Host(tmp_path):
            pass
    assert str(refused.value).startswith(f"{tmp_path}/callboard.toml: tools[0]: ")


async def test_a_tool_that_is_named_beside_its_registry_is_there_once(tmp_path: Path) -> None:
    (tmp_path / "things_c.py").write_text(MODULE)
    (tmp_path / "callboard.toml").write_text('tools = ["things_c:registry", "things_c:one"]\n')

    async with Host(tmp_path) as host:
        assert [id_ for id_ in host.registry.ids() if id_ in {"one", "two"}] == ["one", "two"]


async def test_two_tools_of_one_name_are_still_refused(tmp_path: Path) -> None:
    (tmp_path / "things_d.py").write_text(MODULE)
    (tmp_path / "things_e.py").write_text(MODULE)
    (tmp_path / "callboard.toml").write_text('tools = ["things_d:one", "things_e:one"]\n')

    with pytest.raises(RegistrationError, match="one"):
        async with Host(tmp_path):
            pass


async def test_what_modules_print_while_they_load_goes_to_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "things_loud.py").write_text("print('hello')\n" + MODULE)
    (tmp_path / "callboard.toml").write_text('tools = ["things_loud:one"]\n')

    async with Host(tmp_path):
        pass

    assert capsys.readouterr() == ("", "hello\n")


async def test_a_module_that_would_end_the_process_is_an_error_of_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "things_exit.py").write_text("import sys\nsys.exit(0)\n")
    (tmp_path / "callboard.toml").write_text('tools = ["things_exit:one"]\n')

    with pytest.raises(ConfigError, match="importing 'things_exit' failed: SystemExit: 0"):
        async with Host(tmp_path):
            pass
    assert str(tmp_path) not in sys.path


async def test_an_option_that_no_tool_has_is_told_with_those_that_there_are(tmp_path: Path) -> None:
    (tmp_path / "things_misspelt.py").write_text(
        "from callboard import tool\n@tool(moode='read')\ndef f(): ..."
    )
    (tmp_path / "callboard.toml").write_text('tools = ["things_misspelt:f"]\n')

    with pytest.raises(ConfigError, match=r"no option 'moode'; did you mean 'mode'\?") as caught:
        async with Host(tmp_path):
            pass
    assert "the options are: name, description, mode" in (caught.value.hint or "")
