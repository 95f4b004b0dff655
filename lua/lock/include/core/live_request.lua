-- live_request(ctx, rid): a request that holds or waits; nil if it has ended or is not known.
local function live_request(ctx, rid)
  local text = record_of(ctx, rid)
  if text and string.sub(text, 1, 6) ~= 'ended ' then return read_request(text) end
end
