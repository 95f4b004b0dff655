-- send_follows(ctx): enqueue the tasks of this call, if the queue of the settings is in the same slot and takes tasks as they are: it is
-- not draining, in no partitions, and of this layout and clock. Otherwise they wait in the outbox: a queue never refuses a vote. Their ids
-- end with what nobody but the caller can know before, so nobody can take them.
-- USES queue
local function send_follows(ctx)
  local name = ':queue:' .. (ctx.settings.follow_queue or '') .. ':config'
  local line = name ~= ':queue:none:config' and string.sub(queue.config, -#name) == name and queue.open()
  if not line or not queue.takes_plain_tasks(line) then
    for _, follow in ipairs(ctx.follows) do put_out(ctx, follow) end  -- at most 400: two for each item, and for ten others
    return #ctx.follows
  end
  local domain = domain_name()
  local ids, payloads, envelopes, stamps, keys = {}, {}, {}, {}, {}
  for i, follow in ipairs(ctx.follows) do  -- at most 400: two for each item, and for ten others
    local word, rev, digest, kind_word, lane, priority = string.match(follow.text, '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+)$')
    local place = follow.seq .. '/' .. string.sub(redis.sha1hex(rid .. ' ' .. follow.id .. ' ' .. follow.seq), 1, 20)
    ids[i] = domain .. '/' .. follow.id .. '/' .. place
    note_task(follow.id, place)
    payloads[i] = '{"digest":"' .. digest .. '","domain":"' .. domain .. '","event":"' .. word .. '","id":"' .. follow.id
      .. '","rev":' .. rev .. ',"seq":' .. follow.seq .. '}'
    envelopes[i] = { 'kind', kind_word, 'lane', lane, 'priority', priority, kind = kind_word, lane = lane, priority = tonumber(priority) }
    stamps[i], keys[i] = rid .. '/' .. i, queue.task .. ids[i]
  end
  line.some_known = redis.call('EXISTS', unpack(keys)) > 0  -- at most 400: two for each item, and for ten others
  if not line.exists then queue.create_base() end
  queue.add_tasks(line, ids, payloads, envelopes, stamps)
  queue.on_close(line)
  queue.write_counts(line)
  return 0
end
