"""The GraphQL documents that are sent to Shopify, and nothing else is.

Fields and arguments are those of the Admin API 2026-10. A query can cost 1,000 points at most, however little it
finds: an object costs a point, and a list as many times its object as it is asked for. So lists are short, and
`tests/shops/shopify/test_documents.py` adds up what each document can cost.
"""

VERSION = "2026-10"
"""Published on 1 October 2026, served until 16 October 2027. Shopify publishes one a quarter."""
LISTED_ORDERS = 5
"""Orders of one page of a customer's list."""
ORDER_PAGES = 4
"""Pages of a customer's list that are read."""

_MONEY = "fragment Money on MoneyBag { presentmentMoney { amount currencyCode } }"
_HEAD = """
fragment Head on Order {
  id name updatedAt processedAt cancelledAt displayFinancialStatus displayFulfillmentStatus returnStatus refundable
  customer { id }
  currentTotalPriceSet { ...Money }
  totalRefundedSet { ...Money }
  netPaymentSet { ...Money }
  shippingAddress { name address1 address2 city provinceCode zip countryCodeV2 }
}
fragment Line on LineItem {
  id title variantTitle quantity currentQuantity refundableQuantity unfulfilledQuantity
  variant { id product { id } }
  discountedUnitPriceAfterAllDiscountsSet { ...Money }
}
fragment Parcel on Fulfillment {
  id displayStatus deliveredAt estimatedDeliveryAt
  trackingInfo { company number }
}
"""

SHOP = """
query Shop {
  shop { name currencyCode }
  currentAppInstallation { accessScopes { handle } }
}
"""

SUBSCRIPTIONS = """
query Subscriptions {
  webhookSubscriptions(first: 100) { nodes { topic uri } }
}
"""

CUSTOMERS = """
query Customers($search: String!) {
  customers(first: 3, query: $search) {
    nodes { id displayName defaultEmailAddress { emailAddress } }
  }
}
"""

ORDERS = (
    """
query Orders($search: String!, $first: Int!, $after: String) {
  orders(first: $first, after: $after, query: $search, sortKey: PROCESSED_AT, reverse: true) {
    nodes { ...Head lineItems(first: 20) { nodes { ...Line } } fulfillments(first: 10) { ...Parcel } }
    pageInfo { hasNextPage endCursor }
  }
}
"""
    + _HEAD
    + _MONEY
)

FIND_ORDER = """
query FindOrder($search: String!) {
  orders(first: 3, query: $search) { nodes { id name } }
}
"""

ORDER = (
    """
query OneOrder($id: ID!) {
  order(id: $id) {
    ...Head
    lineItems(first: 50) { nodes { ...Line } }
    fulfillments(first: 10) {
      ...Parcel
      events(first: 20, sortKey: HAPPENED_AT, reverse: true) {
        nodes { status happenedAt city province country message }
      }
    }
    refunds(first: 20) { id note totalRefundedSet { ...Money } }
    returns(first: 20) { nodes { id name status } }
  }
}
"""
    + _HEAD
    + _MONEY
)

ORDER_STATE = (
    """
query OrderState($id: ID!) {
  order(id: $id) {
    id name updatedAt cancelledAt
    customer { id }
    refunds(first: 20) { id note totalRefundedSet { ...Money } }
  }
}
"""
    + _MONEY
)

PRODUCT = """
query OneProduct($id: ID!) {
  shop { currencyCode }
  product(id: $id) {
    id title
    variants(first: 100) { nodes { id title price availableForSale } }
  }
}
"""

SUGGESTED_REFUND = (
    """
query SuggestedRefund($id: ID!, $items: [RefundLineItemInput!], $whole: Boolean!) {
  order(id: $id) {
    suggestedRefund(refundLineItems: $items, refundShipping: false, suggestFullRefund: $whole) {
      amountSet { ...Money }
      suggestedTransactions { gateway formattedGateway amountSet { ...Money } parentTransaction { id } }
    }
  }
}
"""
    + _MONEY
)

RETURNABLE = """
query Returnable($id: ID!) {
  returnableFulfillments(orderId: $id, first: 6) {
    nodes {
      id
      returnableFulfillmentLineItems(first: 50) {
        nodes { quantity fulfillmentLineItem { id lineItem { id } } }
      }
    }
  }
}
"""

CANCEL = """
mutation Cancel($id: ID!, $reason: OrderCancelReason!, $restock: Boolean!, $note: String,
  $refund: OrderCancelRefundMethodInput) {
  orderCancel(orderId: $id, reason: $reason, restock: $restock, notifyCustomer: true, staffNote: $note,
    refundMethod: $refund) {
    job { id done }
    userErrors: orderCancelUserErrors { code field message }
  }
}
"""

REFUND = (
    """
mutation Refund($input: RefundInput!, $key: String!) {
  refundCreate(input: $input) @idempotent(key: $key) {
    refund { id note totalRefundedSet { ...Money } }
    userErrors { field message }
  }
}
"""
    + _MONEY
)

REQUEST_RETURN = """
mutation RequestReturn($input: ReturnRequestInput!) {
  returnRequest(input: $input) {
    return { id name status }
    userErrors { code field message }
  }
}
"""

CREATE_RETURN = """
mutation CreateReturn($input: ReturnInput!) {
  returnCreate(returnInput: $input) {
    return { id name status }
    userErrors { code field message }
  }
}
"""

CANCEL_RETURN = """
mutation CancelReturn($id: ID!) {
  returnCancel(id: $id) {
    return { id name status }
    userErrors { code field message }
  }
}
"""

UPDATE_ADDRESS = """
mutation UpdateAddress($input: OrderInput!) {
  orderUpdate(input: $input) {
    order { id updatedAt }
    userErrors { field message }
  }
}
"""
