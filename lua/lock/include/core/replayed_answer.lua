-- replayed_answer(ctx, rid): the answer to a request that is known: its status and details, and the request itself if
-- it lives.
local function replayed_answer(ctx, rid)
  local text = record_of(ctx, rid)
  local outcome, detail = string.match(text, '^ended (%S+) ?(.*)$')
  if outcome == 'busy' or outcome == 'deadlock' or outcome == 'unavailable' or outcome == 'owner_waits' then
    return outcome, detail ~= '' and detail or nil
  end
  if outcome then return 'ended', outcome end
  local request = read_request(text)
  request.deadline_ms = tonumber(redis.call('ZSCORE', deadlines, rid))
  return request.order == '-' and 'granted' or 'queued', nil, request
end
