-- open_requests(ctx, own): open all requests: no answer counts, and their times begin.
local function open_requests(ctx, own)
  for _, one in ipairs(slots_of(own)) do open_request(ctx, own, one) end  -- at most 32: slots
end
