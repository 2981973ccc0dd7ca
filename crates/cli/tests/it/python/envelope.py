"""Reads an envelope with securesystemslib, verifies it with a key in PEM, and prints what was signed."""
import json
import sys

from cryptography.hazmat.primitives.serialization import load_pem_public_key
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey

envelope_text, pem = sys.argv[1], sys.argv[2]
keyid = json.loads(envelope_text)["signatures"][0]["keyid"]
envelope = Envelope.from_dict(json.loads(envelope_text))
key = SSlibKey.from_crypto(load_pem_public_key(pem.encode()), keyid=keyid)
accepted = envelope.verify([key], 1)

spoilt = json.loads(envelope_text)
spoilt["payloadType"] = "application/json"
try:
    Envelope.from_dict(spoilt).verify([key], 1)
    refuses = False
except VerificationError:
    refuses = True
json.dump(
    {
        "pae": envelope.pae().hex(),
        "payload": json.loads(envelope.payload),
        "verified_by": sorted(accepted),
        "refuses_another_type": refuses,
    },
    sys.stdout,
)
