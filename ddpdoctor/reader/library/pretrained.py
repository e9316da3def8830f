"""Models of the project that a library makes out of published weights: ``OwnModel.from_pretrained(name)``."""

from ddpdoctor.reader.abstract import Abstract, Opaque
from ddpdoctor.reader.attributes import class_attribute
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.objects import Class, Function
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.walk import Walk

MAKERS = ("transformers.", "diffusers.", "pytorch_transformers.", "pytorch_pretrained_bert.")


def _from_pretrained(walk: Walk, call: Call) -> Abstract | None:
    """Make the object as the library does: of the configuration, and of what else its constructor takes.

    Source: transformers/modeling_utils.py, ``PreTrainedModel.from_pretrained``, ``_from_config``.
    """
    cls = call.receiver
    if not isinstance(cls, Class) or not any(base.startswith(MAKERS) for base in cls.external_bases()):
        return None
    initialiser = class_attribute(walk, cls, "__init__")
    parameters = initialiser.node.args if isinstance(initialiser, Function) else None
    names = {one.arg for one in (*parameters.args, *parameters.kwonlyargs)} if parameters is not None else set()
    kwargs = {name: value for name, value in call.kwargs.items() if name in names - {"config"}}
    if call.path.endswith("from_config"):
        config: Abstract | None = call.argument("config", 0)
    else:
        config = call.kwargs.get("config")
    given = config or Opaque(f"configuration of {text(cls)}", frozenset({"configuration"}), origin="configuration")
    return walk.call(cls, call._replace(args=(given, *call.args[1:]), kwargs=kwargs))


METHODS = dict.fromkeys(("from_pretrained", "from_config", "_from_config"), _from_pretrained)
