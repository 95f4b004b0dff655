-- replace_requests(ctx, own, list): these are the requests of the change from now on; those of an earlier submit are gone.
local function replace_requests(ctx, own, list)
  for _, one in ipairs(slots_of(own)) do drop_request(own, one) end  -- at most 32: slots
  own.list = list
  for _, one in ipairs(list) do new_request(ctx, own, one, one.name) end  -- at most 32: slots
end
