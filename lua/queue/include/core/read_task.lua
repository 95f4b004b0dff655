-- read_task(id): read a task for a claim: its record as a flat list; its attempts, crashes and deliveries; since when
-- it was ready, nil if the record is gone; about how many bytes it takes in a reply, with its payload; whether it has
-- ties; the trace of its enqueue, if any; and the bytes of its steps, if it has any. A payload above 1 KiB has its size in
-- the record.
-- EARLY
local function read_task(id)
  local record = redis.call('HGETALL', task .. id)  -- at most 70: fields of a record
  local attempts, crashes, deliveries, created_ms, ready_ms, bytes, tied, traced, stored = 0, 0, 0, nil, nil, 2048, false, nil, nil
  for f = 1, #record, 2 do
    local name, value = record[f], record[f + 1]
    bytes = bytes + #value
    if name == 'created_ms' then created_ms = tonumber(value)
    elseif name == 'ready_ms' then ready_ms = tonumber(value)
    elseif name == 'attempts' then attempts = tonumber(value)
    elseif name == 'crashes' then crashes = tonumber(value)
    elseif name == 'deliveries' then deliveries = tonumber(value)
    elseif name == 'ties' then tied = true
    elseif name == 'size' then bytes = bytes + value
    elseif name == 'trace' then traced = value
    elseif name == 'durable' then
      stored = tonumber(string.match(value, '^%d+ (%d+)$'))
      bytes = bytes + math.min(65536, stored)
    end
  end
  return record, attempts, crashes, deliveries, created_ms and (ready_ms or created_ms), bytes, tied, traced, stored
end
