"""The words with which a customer asks for a person, in the languages of the sentences.

PERSON     they ask for a human being: by what they want to do, or by what they need
ALONE      the people whom the word alone calls, as in "A person, please. It is about my order"
BESIDE     the words that may be next to it

The words for danger, and for a matter that belongs to people, are in bot/desk/danger.
"""

_EN = (
    r"(?:human(?:\sbeing)?|person|someone|somebody|representative|rep|agent|operator|staff|manager|supervisor|support|"
    r"customer\s(?:service|support|care)|(?:your|the|support)\steam)"
)
_EN_SUCH = r"(?:an?\s|the\s|your\s|any\s)?(?:real\s|actual\s|live\s|human\s|support\s)*"
_EN_END = r"(?=\W*$|\s*[.!?;,]|\s(?:please|pls|now|here|instead|to\s(?:help|talk|speak|answer|look|call)|who|from)\b)"
_ID = (
    r"(?:orang|manusia|cs|admin|petugas|staff?|agen|operator|layanan\spelanggan|"
    r"customer\s(?:service|support|care))"
)
_DE = (
    r"(?:mensch(?:en)?|person|(?:kunden|support)?(?:mitarbeiter|berater|betreuer)(?:in)?|jemand(?:e[nm])?|ansprechpartner|"
    r"kunden(?:service|dienst|support)|support(?:-?team)?)"
)
_DE_SUCH = (
    r"(?:einen?\s|einem\s|einer\s|de[mnr]\s|ihre[mnr]?\s|eure[mnr]?\s)?(?:echten?\s|richtigen?\s|menschlichen?\s)?"
)
_ES = (
    r"(?:humano|ser\shumano|persona|agente|representante|operadora?|asesora?|alguien|encargad[oa]|"
    r"(?:atenci[oó]n|servicio)\sal\scliente|soporte)"
)
_ES_SUCH = r"(?:una?\s|alg[uú]n\s|el\s|la\s|su\s)?(?:verdader[oa]\s)?"
_FR = (
    r"(?:humain|[eê]tre\shumain|personne|conseill[eè]re?|agent|quelqu.un|op[eé]rat(?:eur|rice)|responsable|"
    r"(?:le\s|votre\s)?(?:service\sclients?|support|[eé]quipe))"
)
_FR_SUCH = r"(?:une?\s|le\s|la\s|votre\s)?(?:vraie?\s)?"

PERSON = (
    # English
    rf"\b(?:talk|speak|chat)\w*\s(?:to|with)\s{_EN_SUCH}{_EN}\b",
    r"\b(?:get|give|connect|transfer|put|pass)\sme\s(?:through\s)?(?:to\s|with\s|over\sto\s)?"
    rf"{_EN_SUCH}{_EN}\b",
    r"\b(?:need|want|prefer|(?:i.?d|would)\s(?:like|prefer|rather\shave)|(?:can|could|may)\si\s(?:please\s)?(?:have|get))\s"
    rf"{_EN_SUCH}(?:human(?:\sbeing)?|person|agent|representative|operator){_EN_END}",
    r"\b(?:real|actual|live)\s(?:human|person)\b",
    r"\b(?:human|person|agent|representative|operator)\W{1,3}(?:please|pls|now)\b",
    r"\b(?:can|could|may|let|have)\s(?:an?\s)?(?:(?:human|representative)\s(?:being\s)?(?:please\s)?"
    r"(?:help|call|contact|answer|look|write)|(?:someone|somebody|person|agent)\sfrom\s(?:your|the|support|customer))\b",
    r"\b(?:is|are)\sthere\s(?:an?\s|any\s)?(?:humans?|human\sbeings?|agents?|representatives?)\b",
    r"\bno\s(?:more\s)?(?:chat)?bots?\b",
    r"\b(?:don.?t|do\snot|not|stop)\s(?:want\sto\s|like\sto\s)?(?:talk|speak|chat)\w*\s(?:to|with)\s"
    r"(?:an?\s|this\s|the\s|your\s)?(?:chat)?(?:bot|robot|machine|computer|ai|assistant)\b",
    r"\bis\sthere\s(?:a\sperson|some(?:one|body)|any(?:one|body))\s(?:that\s|who\s)?i\s(?:can|could)\s(?:talk|speak)\b",
    r"\bcan\sa\sperson\s(?:please\s)?(?:look|help|answer|check|take)\b",
    # Indonesian
    r"\b(?:ber)?(?:bicara|ngomong|ngobrol|chat|hubungkan|sambungkan|disambungkan|dihubungkan|panggil(?:kan)?)\s"
    rf"(?:saya\s|aku\s|langsung\s)?(?:dengan\s|sama\s|ke\s|dgn\s|kepada\s)?{_ID}\b",
    r"\b(?:minta|butuh|perlu|mau|ingin)\s(?:bantuan\s)?(?:manusia|cs|admin|petugas|agen|operator|orang\sasli)\b"
    r"(?!\sfee)",
    r"\borang\s(?:asli|beneran)\b",
    # German
    rf"\bmit\s{_DE_SUCH}{_DE}\s(?:\w+\s)?(?:sprechen|reden|schreiben|verbinden|chatten)",
    r"\b(?:sprech\w*|red\w*|spreche)\s(?:\w+\s)?mit\s(?:einem\s|einer\s)(?:echten\s|richtigen\s)?"
    r"(?:menschen|person|mitarbeiter(?:in)?|berater(?:in)?)\b",
    r"\bverbind\w*\s(?:sie\s)?(?:mich|uns)\s(?:bitte\s)?mit\b",
    r"\b(?:brauche|will|möchte|verlange|hätte\sgern\w*)\s(?:bitte\s|gern\w*\s|jetzt\s)*einen?\s"
    r"(?:echten?\s|richtigen?\s)?(?:menschen|mitarbeiter(?:in)?|berater(?:in)?|kundenberater(?:in)?|ansprechpartner)"
    r"(?=\W*$|\s*[.!?;,]|\s(?:bitte|sprechen|jetzt|der|die|von)\b)",
    r"\b(?:echte[rn]?|richtige[rn]?)\smensch(?:en)?\b",
    r"\bgibt\ses\s(?:hier\s|da\s|auch\s)*(?:einen\s)?(?:menschen|mitarbeiter)\b(?!\w|-)",
    # Spanish
    rf"\b(?:hablar|chatear|comunicarme|contactar)\scon\s{_ES_SUCH}{_ES}\b",
    rf"\b(?:p[aá]s[ae]\w*|p[oó]n(?:ga|gan)?me|con[eé]ct[ae]\w*|comun[ií](?:ca|que)\w*)\scon\s{_ES_SUCH}{_ES}\b",
    r"\b(?:quiero|necesito|prefiero|quisiera|deseo|d[ae]me)\s(?:a\s)?(?:una?\s)"
    r"(?:ser\shumano|humano|persona|agente|operadora?|asesora?|representante)\b",
    r"\bpersona\sreal\b",
    # French
    rf"\b(?:parler|discuter|[eé]changer)\s(?:à|a|avec|au)\s?{_FR_SUCH}{_FR}\b",
    r"\b(?:je\s(?:veux|voudrais|souhaite|pr[eé]f[eè]re)|besoin\sd.|il\sme\sfaut|donnez-moi)\s?"
    r"(?:une?\s)?(?:vraie?\s)?(?:humain|[eê]tre\shumain|conseill[eè]re?|agent|op[eé]rat(?:eur|rice))"
    r"(?=\W*$|\s*[.!?;,]|\s(?:svp|stp|s.il|qui|humain|maintenant)\b)",
    rf"\b(?:passez|transf[eé]rez|connectez|redirigez)[- ]moi\s(?:à\s|au\s|avec\s|vers\s)?{_FR_SUCH}{_FR}\b",
    rf"\b(?:mett\w*|mise)(?:[- ]moi)?\sen\s(?:relation|contact)\savec\s{_FR_SUCH}{_FR}\b",
    r"\bvraie\spersonne\b|\bpersonne\sr[eé]elle\b",
)

ALONE = (
    r"human(?:\sbeing)?|person|agent|representative|operator|manager|customer\s(?:service|support)",
    r"orang|manusia|cs|admin|petugas|staf|agen|layanan\spelanggan",
    r"mensch(?:en)?|mitarbeiter(?:in)?|(?:kunden)?berater(?:in)?|kundenservice|kundendienst",
    r"persona|humano|ser\shumano|agente|representante|operadora?|asesora?|atenci[oó]n\sal\scliente",
    r"humain|[eê]tre\shumain|personne|conseill\w+|op[eé]rat(?:eur|rice)|service\sclient",
)
BESIDE = (
    r"an?|the|real|live|actual|ein(?:e|en|em|er)?|echte[nr]?|richtige[nr]?|una?|une|seorang|asli|con|vraie?",
    r"please|pls|now|hi|hello|tolong|mohon|minta|dong|sekarang|bitte|jetzt|por\sfavor|ya|ahora|"
    r"s['’]il\s(?:vous|te)\spla[iî]t|svp|stp|maintenant",
)
