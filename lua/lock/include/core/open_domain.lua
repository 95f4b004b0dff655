-- open_domain(rids): what every call needs of the domain: settings, counters, the records of these requests, and the
-- time, which never goes back: the offset takes up what the server's clock has lost; or nil and the error to answer
-- with.
local function open_domain(rids)
  local set = redis.call('HMGET', config, 'layout_min', 'clock', 'events_max', 'lease_ms', 'rate_per_minute', 'max_ttl_ms',
    'mirror')
  local now, now_text = base_time(set[1], set[2])
  if not now then return nil, now_text end
  local row = redis.call('HMGET', requests, '#now', '#offset', '#fence', '#waiting', '#due', unpack(rids))  -- at most 1,000: items
  local last, before = row[1] or 0, tonumber(row[2] or 0)
  local offset = math.max(before, last - now)
  if offset ~= 0 then
    now = now + offset
    now_text = string.format('%.0f', now)
  end
  local texts = { [rids[1] or ''] = row[6] }
  for i = 2, #rids do texts[rids[i]] = row[5 + i] end
  return {
    exists = set[1], events_max = set[3] or DEFAULT_events_max, lease_ms = set[4] or DEFAULT_lease_ms, rate_per_minute = set[5] ~= '0' and set[5] or nil,
    max_ttl_ms = (set[6] or DEFAULT_max_ttl_ms) + 0, mirror = set[7] == '1',
    now = now, now_text = now_text, offset = offset, stepped = offset ~= before, texts = texts,
    fence = row[3] or 0, waiting = (row[4] or 0) + 0, due = (row[5] or 0) + 0,
  }
end
