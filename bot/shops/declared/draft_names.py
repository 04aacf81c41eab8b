"""The names that APIs of shops commonly give to requests and fields. A draft of a connector's file looks for them.

All are without marks and in small letters: `order_number` and `orderNumber` are `ordernumber`.
"""

from collections.abc import Mapping, Sequence

NOUNS: Mapping[str, Sequence[str]] = {
    "customer": ("customer", "client", "user", "account", "buyer", "contact", "member", "shopper"),
    "order": ("order", "purchase"),
    "parcel": ("shipment", "parcel", "tracking", "package", "delivery", "fulfillment", "consignment"),
    "product": ("product", "article", "item", "sku"),
    "payment_method": ("paymentmethod", "instrument", "paymentinstrument", "wallet"),
}
"""Record -> the words for it in paths, in the singular and without marks."""
PLACEHOLDERS = {
    "customer": "{customer.id}",
    "order": "{order.id}",
    "parcel": "{parcel.tracking_number}",
    "product": "{product.id}",
}
NAMES: Mapping[str, Sequence[str]] = {
    "customer.id": ("id", "customerid", "customernumber", "number", "uuid", "userid"),
    "customer.email": ("email", "emailaddress", "contactemail", "mail"),
    "customer.name": ("name", "fullname", "displayname", "firstname"),
    "order.id": ("ordernumber", "number", "orderno", "name", "reference", "orderid", "id"),
    "order.owner": ("customerid", "customernumber", "customeruuid", "userid", "accountid", "buyerid", "clientid"),
    "order.status": ("status", "orderstatus", "state", "fulfillmentstatus"),
    "order.placed_at": (
        "placedat",
        "orderedat",
        "createdat",
        "created",
        "orderdate",
        "date",
        "createdon",
        "datecreated",
    ),
    "order.total": (
        "total",
        "totalprice",
        "grandtotal",
        "totalamount",
        "ordertotal",
        "amountsgross",
        "totalgross",
        "totalinctax",
        "totalincltax",
    ),
    "order.lines": ("lines", "lineitems", "items", "orderlines", "orderitems", "positions", "products"),
    "order.payment": ("paymentstatus", "paymentstate", "financialstatus"),
    "order.delivered_at": ("deliveredat", "deliverydate", "delivered"),
    "order.revision": ("revision", "etag", "version", "updatedat", "modifiedat"),
    "order.refundable": ("refundable", "refundableamount", "amountsrefundable"),
    "order.refunded": ("refunded", "refundedamount", "totalrefunded", "amountsrefunded"),
    "order.address": ("shippingaddress", "shipto", "deliveryaddress", "shipping", "address"),
    "order.parcels": ("parcels", "shipments", "fulfillments", "packages", "deliveries"),
    "line.id": ("id", "lineid", "lineitemid", "positionid", "itemid"),
    "line.title": ("title", "name", "productname", "description", "label"),
    "line.quantity": ("quantity", "qty", "count", "units"),
    "line.unit_price": ("unitprice", "price", "priceperunit", "unitgross", "unitamount", "itemprice"),
    "line.product_id": ("productid", "articleid", "skuparent"),
    "line.variant_id": ("variantid", "sku", "skucode", "articlenumber"),
    "line.returnable": ("returnable", "returnablequantity", "qtyreturnable"),
    "line.cancellable": ("cancellable", "cancellablequantity", "qtycancellable"),
    "parcel.tracking_number": ("trackingnumber", "trackingcode", "trackingid", "tracking", "number"),
    "parcel.order_id": ("ordernumber", "orderid", "orderreference", "order"),
    "parcel.status": ("status", "state", "phase", "trackingstatus"),
    "parcel.carrier": ("carrier", "carriername", "carriercode", "shippingprovider"),
    "parcel.expected_at": ("expectedat", "eta", "estimateddelivery", "estimateddeliverydate", "estdeliverydate"),
    "address.name": ("name", "recipient", "fullname", "addressee"),
    "address.line1": ("line1", "address1", "addressline1", "street", "street1"),
    "address.line2": ("line2", "address2", "addressline2", "extra", "street2"),
    "address.city": ("city", "town", "locality"),
    "address.region": ("region", "state", "province", "county"),
    "address.postal_code": ("postalcode", "postcode", "zip", "zipcode"),
    "address.country": ("country", "countrycode"),
    "product.id": ("id", "productid", "code", "sku"),
    "product.title": ("title", "name", "productname"),
    "product.variants": ("variants", "options", "skus"),
    "variant.id": ("id", "variantid", "sku", "code"),
    "variant.title": ("title", "name", "label"),
    "variant.price": ("price", "unitprice", "amount", "unitgross"),
    "variant.available": ("available", "stock", "inventory", "quantity", "inventoryquantity"),
    "payment_method.method_id": ("id", "methodid", "instrumentid", "paymentmethodid", "token"),
    "payment_method.label": ("label", "display", "displayname", "name", "description"),
}
"""Record and field -> the names that it has in APIs, the likeliest first, without marks."""
ENTRIES = {"lines": "line", "variants": "variant", "parcels": "parcel"}
"""A list of a record -> how its entries are called in `NAMES`."""
WORDS: Mapping[str, Sequence[str]] = {
    "pending": ("pending", "new", "open", "placed", "created", "received", "onhold", "awaitingpayment"),
    "processing": ("processing", "confirmed", "paid", "picking", "packing", "inprogress", "accepted", "preparing"),
    "partly_shipped": ("partlyshipped", "partiallyshipped", "partiallyfulfilled"),
    "shipped": ("shipped", "dispatched", "sent", "fulfilled"),
    "in_transit": ("intransit", "transit", "underway", "shipped"),
    "label_created": ("labelcreated", "pretransit", "announced", "created"),
    "out_for_delivery": ("outfordelivery",),
    "delivered": ("delivered",),
    "cancelled": ("cancelled", "canceled", "voided"),
    "return_requested": ("returnrequested",),
    "partly_returned": ("partlyreturned", "partiallyreturned"),
    "returned": ("returned",),
    "refunded": ("refunded",),
    "partly_refunded": ("partlyrefunded", "partiallyrefunded"),
    "unpaid": ("unpaid", "pending", "open", "authorized"),
    "paid": ("paid", "captured", "settled"),
    "failed": ("failed", "declined"),
    "delayed": ("delayed",),
    "lost": ("lost",),
}
"""A word of ours -> what shops call it, if it can mean nothing else: "complete" may be sent or delivered."""
ACTIONS: Mapping[str, Sequence[str]] = {
    "cancel_order": ("cancel", "cancellation", "cancellations"),
    "change_order_address": ("address", "shippingaddress", "shipto", "deliveryaddress"),
    "refund": ("refund", "refunds"),
    "return_items": ("return", "returns"),
    "exchange_items": ("exchange", "exchanges"),
}
"""A kind of action -> the last word of its path."""
PAGE = {
    "cursor": ("cursor", "after", "pagetoken", "startingafter", "nextcursor"),
    "page": ("page", "pagenumber"),
    "offset": ("offset", "skip"),
}
NEXT = ("nextcursor", "nextpagetoken", "next", "endcursor")
LAST = ("totalpages", "lastpage", "pagecount", "pages")
LISTS = ("items", "data", "results", "records", "entries")
ABOUT_ANSWERS = ("meta", "metadata", "links", "included", "errors", "pagination")
TRANSPARENT = ("attributes",)
"""What JSON:API puts between a record and its fields."""
EMAIL = ("email", "emailaddress", "mail", "emailin", "emaileq", "filteremail", "filteremaileq")
KEY_HEADERS = ("idempotencykey", "xidempotencykey", "requestid")
CURRENCY = ("currency", "currencycode")
AMOUNT = ("amount", "value", "minor", "cents")
AFTERWARDS = {
    "cancel_order": "cancelled",
    "refund": "refunded",
    "return_items": "return_requested",
    "exchange_items": "exchange_requested",
}
"""A kind of action -> the status that an order has afterwards in most shops."""
