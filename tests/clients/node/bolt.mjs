// @slack/bolt: by Socket Mode, or over HTTP when PORT is set.
import bolt from "@slack/bolt";
import {
  API_URL,
  APP_TOKEN,
  BOT_TOKEN,
  PORT,
  SIGNING_SECRET,
  home,
  isByPerson,
  isLeftUnacknowledged,
  modal,
  noteIn,
} from "./script.mjs";

const clientOptions = { slackApiUrl: API_URL };
const receiver = PORT
  ? new bolt.HTTPReceiver({
      signingSecret: SIGNING_SECRET,
      logLevel: "warn",
      processEventErrorHandler: async ({ response }) => {
        response.writeHead(503).end();
        return false;
      },
    })
  : new bolt.SocketModeReceiver({
      appToken: APP_TOKEN,
      logLevel: "warn",
      installerOptions: { clientOptions },
      processEventErrorHandler: async () => false,
    });
const app = new bolt.App({ token: BOT_TOKEN, receiver, clientOptions, logLevel: "warn" });

// Bolt acknowledges an event before any middleware sees it, so the app refuses it at the receiver.
receiver.init({
  processEvent: async (event) => {
    if (isLeftUnacknowledged(event.body, event.retryNum)) throw new Error("not now");
    await app.processEvent(event);
  },
});

app.message("again", async ({ context, say }) => {
  await say(`again, ${context.retryNum}, ${context.retryReason}`);
});

app.event("message", async ({ event, say }) => {
  if (isByPerson(event) && event.text !== "again") await say(`heard ${event.text}`);
});

app.event("app_mention", async ({ client, event }) => {
  const stream = client.chatStream({
    channel: event.channel,
    thread_ts: event.ts,
    recipient_user_id: event.user,
    recipient_team_id: event.team,
    buffer_size: 1,
  });
  await stream.append({ markdown_text: "one" });
  await stream.append({ markdown_text: " **two**" });
  await stream.stop({ markdown_text: " three" });
});

app.command("/ask", async ({ ack, client, command }) => {
  await ack(`you asked ${command.text}`);
  await client.views.open({ trigger_id: command.trigger_id, view: modal(command.text) });
});

app.view("ask", async ({ ack, body, client, view }) => {
  const note = noteIn(view);
  if (note === "no") {
    await ack({ response_action: "errors", errors: { note: "not that" } });
    return;
  }
  await ack();
  await client.chat.postMessage({ channel: body.user.id, text: `noted ${note}` });
});

app.event("app_home_opened", async ({ client, event }) => {
  await client.views.publish({ user_id: event.user, view: home });
});

await app.start(PORT && { port: Number(PORT), host: "127.0.0.1" });
