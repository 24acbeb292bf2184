"""Sign-in on this machine, for `quarterhour up --sign-in`: an OpenID provider, and the made-up people it knows."""
