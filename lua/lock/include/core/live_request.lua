-- live_request(ctx, rid): the request with this rid if it holds or waits; nil if it has ended or is unknown.
local function live_request(ctx, rid)
  local text = record_of(ctx, rid)
  if text and string.sub(text, 1, 6) ~= 'ended ' then return read_request(text) end
end
