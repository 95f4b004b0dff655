-- open_requests(ctx, own): open all requests: no answer counts, and their times begin.
local function open_requests(ctx, own)
  for _, one in ipairs(slots_of(own)) do  -- at most 32: slots
    open_request(ctx, own, one)
    recheck_later(ctx, one)
  end
end
