"""Steps that strategies of several systems share; no strategy stands here."""
