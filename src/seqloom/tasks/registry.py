"""The tasks by name."""

from seqloom.spec.registry import Registry
from seqloom.tasks.classify import Classify
from seqloom.tasks.language import Language
from seqloom.tasks.tag import Tag
from seqloom.tasks.task import Task
from seqloom.tasks.translate import Caption, Translate

TASKS: Registry[type[Task]] = Registry(
    "task", {"language": Language, "classify": Classify, "tag": Tag, "translate": Translate, "caption": Caption}
)
