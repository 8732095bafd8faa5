"""Steps that the strategies of this folder share."""
