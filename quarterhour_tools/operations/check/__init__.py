"""`quarterhour check`: tries a deployed stack from outside, and writes what AWS answered to a page."""
