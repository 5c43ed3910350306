/* An agent's process: holds a plan as execute_plan does, and executes it when a human has decided. */
import pg from 'pg';

const client = new pg.Client({ connectionString: process.env.AGENT_URL });
client.on('error', () => process.exit(1));
await client.connect();
const token = process.env.TOKEN;
const woken = new Promise((resolve) => client.once('notification', () => resolve(performance.now())));
await client.query('listen countersign');
process.send({ ready: 1 });
const at = await woken;
const { rows } = await client.query('select * from countersign.plan_status($1, null)', [token]);
const { statement, params } = rows[0].detail;
const { rows: done } = await client.query('select * from countersign.execute_plan($1, $2, $3::jsonb, null)', [token, statement, JSON.stringify(params)]);
await client.query('select countersign.announce($1)', [token]);
process.send({ woken: at, executed: done[0].ok ? 1 : 0 });
await client.end();
process.disconnect();
