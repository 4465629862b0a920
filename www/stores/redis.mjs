// Sessions in Redis. `client` is a client of the package `redis`. What Redis acknowledged is on the disk only as far as you have set it
// up so: `appendonly yes` with `appendfsync always` for what a power failure may not take.
//
//   palimpsest:<table>        a hash: key as hexadecimal text → value
//   palimpsest:<table>:keys   the same keys, sorted
//   palimpsest:epochs         epochs of sessions without a head

import { checkWrite, decodeKey, encodeKey, keyRange, nextClaim, storageError } from "palimpsest/storage";

/** Bytes as text that sorts as they do. */
const hex = (key) => Buffer.from(encodeKey(key)).toString("hex");
const named = (table) => [`palimpsest:${table}`, `palimpsest:${table}:keys`];

/**
 * A write, all or nothing: only if the head and the epoch are still those that were looked at, and only if no row of an `add` is there.
 * ARGV: head and epoch as they were ("" for none), then for each operation its name, its table, its key or bounds, its value.
 */
const WRITE = `
  local session = KEYS[1]
  local head = redis.call('HGET', 'palimpsest:heads', session) or ''
  local epoch = redis.call('HGET', 'palimpsest:epochs', session) or ''
  if head ~= ARGV[1] or epoch ~= ARGV[2] then return 'changed' end
  local added = {}
  local undo = {}
  local function remember(hash, key) undo[#undo + 1] = { hash, key, redis.call('HGET', hash, key) } end
  local function set(hash, key, value)
    remember(hash, key)
    redis.call('HSET', hash, key, value)
    redis.call('ZADD', hash .. ':keys', 0, key)
  end
  local function drop(hash, key)
    remember(hash, key)
    redis.call('HDEL', hash, key)
    redis.call('ZREM', hash .. ':keys', key)
  end
  for at = 3, #ARGV, 4 do
    local op, hash, key, value = ARGV[at], 'palimpsest:' .. ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
    if op == 'add' and redis.call('HEXISTS', hash, key) == 1 then
      for n = #undo, 1, -1 do
        local one = undo[n]
        if one[3] then
          redis.call('HSET', one[1], one[2], one[3])
          redis.call('ZADD', one[1] .. ':keys', 0, one[2])
        else
          redis.call('HDEL', one[1], one[2])
          redis.call('ZREM', one[1] .. ':keys', one[2])
        end
      end
      return 'exists ' .. ARGV[at + 1] .. ' ' .. key
    elseif op == 'add' or op == 'put' then set(hash, key, value)
    elseif op == 'delete' then drop(hash, key)
    elseif op == 'range' then
      for _, found in ipairs(redis.call('ZRANGEBYLEX', hash .. ':keys', '[' .. key, value)) do drop(hash, found) end
    elseif op == 'epoch' then redis.call('HSET', 'palimpsest:epochs', session, value)
    elseif op == 'no epoch' then redis.call('HDEL', 'palimpsest:epochs', session) end
  end
  return 'written'
`;

/** The end of a range as ZRANGEBYLEX writes it. */
const until = (before) => (before === null ? "+" : `(${Buffer.from(before).toString("hex")}`);

function line(op) {
  if (op.op !== "delete_prefix") return [op.op, op.table, hex(op.key), op.value ?? ""];
  const { from, before } = keyRange(op);
  return ["range", op.table, Buffer.from(from).toString("hex"), until(before)];
}

export function redisStorage(client) {
  /** Looks, decides, and writes if nobody has written in between; else looks again. */
  async function decided(session, decide) {
    for (;;) {
      const [head, epoch] = await Promise.all([client.hGet("palimpsest:heads", hex([session])), client.hGet("palimpsest:epochs", hex([session]))]);
      const { lines, done } = decide({ head, epoch: epoch == null ? null : Number(epoch) });
      const answer = await client.eval(WRITE, { keys: [hex([session])], arguments: [head ?? "", epoch ?? "", ...lines.flat()] });
      if (answer === "written") return done;
      if (answer === "changed") continue;
      const [, table, key] = answer.split(" ");
      throw storageError("row_exists", `${table} ${JSON.stringify(decodeKey(Buffer.from(key, "hex")))}`);
    }
  }

  return {
    // who holds a session elsewhere cannot be told: the newer claim wins, and the older one is refused as superseded
    claim: ({ session, takeOver }) =>
      decided(session, (state) => {
        const { epoch, head } = nextClaim(state, takeOver);
        return { lines: [head === undefined ? ["epoch", "", "", String(epoch)] : ["put", "heads", hex([session]), head]], done: { epoch } };
      }),

    async read(query) {
      const [rows, keys] = named(query.table);
      if (query.query === "get") {
        const value = await client.hGet(rows, hex(query.key));
        return value == null ? [] : [{ key: query.key, value }];
      }
      const { from, before } = keyRange(query);
      const bounds = [`[${Buffer.from(from).toString("hex")}`, until(before)];
      const found = await client.zRange(keys, ...(query.reverse ? bounds.reverse() : bounds), {
        BY: "LEX",
        ...(query.reverse ? { REV: true } : {}),
        ...(query.limit > 0 ? { LIMIT: { offset: 0, count: query.limit } } : {}),
      });
      const values = found.length === 0 ? [] : await client.hmGet(rows, found);
      return found.flatMap((key, n) => (values[n] == null ? [] : [{ key: decodeKey(Buffer.from(key, "hex")), value: values[n] }]));
    },

    apply: (write) =>
      decided(write.lease.session, (state) => {
        const { endsEpoch } = checkWrite(state, write);
        return { lines: [...write.ops.map(line), ...(endsEpoch ? [["no epoch", "", "", ""]] : [])], done: undefined };
      }),
  };
}
