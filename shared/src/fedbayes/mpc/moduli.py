"""Composite moduli whose factors no participant knows: published challenges, or made and forgotten by a
helper.

Whoever knows the factors of the modulus reads every ciphertext of `fedbayes.mpc.joye_libert`. So they must be
unknown to the aggregator and to the stations. There are two ways: a published challenge that nobody is known
to have factored, or a modulus that an organization without data makes and whose factors it erases at once.

References
----------
.. [1] RSA Laboratories, "The RSA Factoring Challenge", 2001: RSA-2048.
.. [2] R. L. Rivest, "Description of the CSAIL2019 Time Capsule Crypto-Puzzle", May 2019: 3072 bits. Its
   author made it; its factors may be published when the puzzle is solved, which was expected for about 2034.
   What must stay secret for longer needs a modulus of the project's own.
"""

from dataclasses import dataclass

RSA_2048 = int(
    "251959084756578934940271832400483985714292821262040320277771378360436620207075955562640185258807"
    "844069182906412495150821892985591491761845028084891200728449926873928072877767359714183472702618"
    "963750149718246911650776133798590957000973304597488084284017974291006424586918171951187461215151"
    "726546322822168699875491824224336372590851418654620435767984233871847744479207399342365848238242"
    "811981638150106748104516603773060562016196762561338441436038339044149526344321901146575444541784"
    "240209246165157233507787077498171257724679629263863563732899121548314381678998850404453640235273"
    "81951378636564391212010397122822120720357"
)
"""The largest number of the RSA Factoring Challenge [1]_."""

CSAIL_2019 = int(
    "474809754727201286617503413061677388505126074492005644486710619636071042455814765425270760494101"
    "231177589201256757906462053687463338505591900116762157771031136607205702942170513568430393481139"
    "013793780209643316395921689235118482669118001605519886679653623008552320068354906699567215583904"
    "228295559156849460306111329203904475384384648480711222838920423958171293110891982025021858635204"
    "389730623887202537819314111150742631144461349873631561421830476173554162699783903651772800068839"
    "401561061817976886834207039510014762029561669583444089424114790556556780829814902466852704523965"
    "014586209290411941287400776304104231428760477287686129441766402083279620913558718182645823558000"
    "382582372423580085016028485080973720098370355217935469186387604444337782243983407931357802908565"
    "807857573129024477859561522947241132683150266742576852000637175296327429629450606318225806436204"
    "8788338392528266351511304921847854750642192694541125065873977"
)
"""The modulus of the CSAIL2019 time capsule [2]_."""


@dataclass(frozen=True, slots=True)
class Modulus:
    """A composite modulus N.

    Attributes
    ----------
    value : int
        N, odd, the product of two primes that no participant knows.
    source : str
        Where it comes from, for the result's report.
    """

    value: int
    source: str

    def __post_init__(self) -> None:
        if self.value < 3 or self.value % 2 == 0:
            raise ValueError("a modulus is an odd number, the product of two large primes")

    @property
    def bits(self) -> int:
        """Return the length of N in bits."""
        return self.value.bit_length()


def published_modulus(bits: int) -> Modulus:
    """Return the published challenge modulus of this length.

    Parameters
    ----------
    bits : int
        2048 or 3072.

    Returns
    -------
    Modulus

    Raises
    ------
    ValueError
        When no challenge of this length was published.

    Notes
    -----
    **Reveals** nothing.
    **Assumes** that nobody who sees ciphertexts has factored the challenge or was told its factors by its
    author.
    """
    moduli = {2048: (RSA_2048, "RSA-2048 challenge"), 3072: (CSAIL_2019, "CSAIL2019 time capsule")}
    if bits not in moduli:
        raise ValueError(f"there are published moduli of {sorted(moduli)} bits, not {bits}; let a helper make one")
    return Modulus(*moduli[bits])


def generate_modulus(bits: int) -> Modulus:
    """Make a modulus and forget its factors; for an organization that is neither a station nor the
    aggregator.

    Parameters
    ----------
    bits : int
        At least 1024; 3072 for use.

    Returns
    -------
    Modulus

    Raises
    ------
    ValueError
        When it would be too short.

    Notes
    -----
    **Reveals** the factors to nobody: they are never returned or written.
    **Assumes** that the helper runs this code and does not inspect its memory, or does not collude with who
    sees ciphertexts.
    """
    from cryptography.hazmat.primitives.asymmetric import rsa

    if bits < 1024:
        raise ValueError("a modulus of fewer than 1024 bits is factored in hours; use 3072")
    key = rsa.generate_private_key(public_exponent=65537, key_size=bits)
    return Modulus(key.public_key().public_numbers().n, "made by the helper, factors erased")


def import_modulus(value: int, bits: int) -> Modulus:
    """Check a modulus that a helper sent: its length, and that it is neither prime nor has a small factor.

    Parameters
    ----------
    value : int
        N.
    bits : int
        The length that was asked for.

    Returns
    -------
    Modulus

    Raises
    ------
    ValueError
        When it is not a composite of that length.
    """
    small = any(value % divisor == 0 for divisor in range(3, 10_000, 2))
    if value.bit_length() != bits or value % 2 == 0 or small or pow(2, value - 1, value) == 1:
        raise ValueError(f"the helper's modulus is not a product of two large primes with {bits} bits")
    return Modulus(value, "made by the helper, factors erased")
