"""How the networks of EAGLE's rivals are trained, one file each."""
