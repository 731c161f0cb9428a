"""Formats members of (str, Enum) as Python 3.10 does.

The server of vantage6 4.15 makes names of permissions with f"{Operation.VIEW}_{Scope.GLOBAL}", which is "v_glo" up to Python 3.10 and
"Operation.VIEW_Scope.GLOBAL" from 3.11 on, where every call of its interface then fails. enum_format.pth imports this for every interpreter of
the image.
"""

import enum
import sys


def _format(self: enum.Enum, spec: str) -> str:
    mixed_in = getattr(self, "_member_type_", object)
    own_text = type(self).__str__ not in (enum.Enum.__str__, enum.Flag.__str__)
    if mixed_in is object or own_text:
        return str.__format__(str(self), spec)
    return mixed_in.__format__(self._value_, spec)


if sys.version_info >= (3, 11):
    enum.Enum.__format__ = _format
