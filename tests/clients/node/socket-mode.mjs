// @slack/socket-mode with @slack/web-api, without a framework.
import { SocketModeClient } from "@slack/socket-mode";
import { WebClient } from "@slack/web-api";
import { API_URL, APP_TOKEN, BOT_TOKEN, home, isByPerson, isLeftUnacknowledged, modal, noteIn } from "./script.mjs";

const options = { slackApiUrl: API_URL, logLevel: "warn" };
const web = new WebClient(BOT_TOKEN, options);
const client = new SocketModeClient({ appToken: APP_TOKEN, logLevel: "warn", clientOptions: options });

client.on("message", async ({ ack, body, event, retry_num, retry_reason }) => {
  if (isLeftUnacknowledged(body, retry_num)) return;
  await ack();
  if (!isByPerson(event)) return;
  const text = event.text === "again" ? `again, ${retry_num}, ${retry_reason}` : `heard ${event.text}`;
  await web.chat.postMessage({ channel: event.channel, text });
});

client.on("app_mention", async ({ ack, event }) => {
  await ack();
  const { channel, ts: thread_ts, user: recipient_user_id, team: recipient_team_id } = event;
  const { ts } = await web.chat.startStream({ channel, thread_ts, recipient_user_id, recipient_team_id });
  await web.chat.appendStream({ channel, ts, markdown_text: "one **two**" });
  await web.chat.stopStream({ channel, ts, markdown_text: " three" });
});

client.on("slash_commands", async ({ ack, body }) => {
  await ack({ text: `you asked ${body.text}` });
  await web.views.open({ trigger_id: body.trigger_id, view: modal(body.text) });
});

client.on("interactive", async ({ ack, body }) => {
  const note = noteIn(body.view);
  if (note === "no") {
    await ack({ response_action: "errors", errors: { note: "not that" } });
    return;
  }
  await ack();
  await web.chat.postMessage({ channel: body.user.id, text: `noted ${note}` });
});

client.on("app_home_opened", async ({ ack, event }) => {
  await ack();
  await web.views.publish({ user_id: event.user, view: home });
});

await client.start();
