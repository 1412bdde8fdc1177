"""Tests of redfish_fm.store."""

import pytest

pytest.register_assert_rewrite("tests.store.contract")
