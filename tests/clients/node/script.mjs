// What both apps show and say; the play is told in tests/clients/play.py.

export const { API_URL, BOT_TOKEN, APP_TOKEN, SIGNING_SECRET, PORT } = process.env;

const title = { type: "plain_text", text: "Ask" };
const input = {
  type: "input",
  block_id: "note",
  label: title,
  element: { type: "plain_text_input", action_id: "text" },
};

export const home = { type: "home", blocks: [{ type: "section", text: { type: "mrkdwn", text: "at home" } }] };

export function modal(question) {
  return { type: "modal", callback_id: "ask", title, submit: title, blocks: [input], private_metadata: question };
}

export function noteIn(view) {
  return view.state.values.note.text.value;
}

export function isByPerson(event) {
  return event.channel_type === "im" && !event.bot_id && !event.subtype;
}

// Whether the app keeps silent, so that the event comes again.
export function isLeftUnacknowledged(body, attempt) {
  return body.event?.text === "again" && isByPerson(body.event) && !attempt;
}
