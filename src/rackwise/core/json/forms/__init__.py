"""Forms: how the values of one type are read, written and described (see `codec`).

```
form       the interface; null or a value
scalars    a number, a flag, a text, one of some texts
lists      a list, a tuple; a list or object in place of a text
objects    an object of declared members: as a dataclass, as a dict, as one of several classes
mappings   an object whose keys are data; a list of objects, each with its key
```
"""

from rackwise.core.json.forms.form import (
    Definitions,
    Form,
    NullableForm,
    Schema,
)
from rackwise.core.json.forms.lists import (
    EitherForm,
    ListForm,
    TupleForm,
)
from rackwise.core.json.forms.mappings import (
    MappingForm,
    RowsForm,
)
from rackwise.core.json.forms.objects import (
    ObjectForm,
    ObjectMember,
    RecordForm,
    UnionForm,
    object_schema,
    read_members,
)
from rackwise.core.json.forms.scalars import (
    AnyForm,
    ChoiceForm,
    FlagForm,
    IntegerForm,
    NumberForm,
    ScalarForm,
    TextForm,
)

__all__ = [
    "AnyForm",
    "ChoiceForm",
    "Definitions",
    "EitherForm",
    "FlagForm",
    "Form",
    "IntegerForm",
    "ListForm",
    "MappingForm",
    "NullableForm",
    "NumberForm",
    "ObjectForm",
    "ObjectMember",
    "RecordForm",
    "RowsForm",
    "ScalarForm",
    "Schema",
    "TextForm",
    "TupleForm",
    "UnionForm",
    "object_schema",
    "read_members",
]
